// MARK (version VERSION); `shellgate uninstall` removes it.
// Hands every tool call to shellgate and throws, so that the tool does not run, unless the answer is
// that nothing is against it. A gate that cannot be asked stops the tool.
import { spawnSync } from "node:child_process";

const program = PROGRAM;

export const Shellgate = async ({ directory, worktree }) => ({
  "tool.execute.before": async (input, output) => {
    const payload = JSON.stringify({
      sessionID: input.sessionID,
      cwd: directory,
      workspaces: [worktree && worktree !== "/" ? worktree : directory],
      tool: input.tool,
      input: output.args,
    });
    const run = spawnSync(program, ["hook", "opencode"], {
      input: payload,
      encoding: "utf8",
      timeout: 30000,
    });
    let answer;
    try {
      answer = JSON.parse(run.stdout);
    } catch {
      throw new Error("shellgate could not be asked, so the tool was not run; `shellgate doctor` says why.");
    }
    if (run.status !== 0 || answer.decision !== "pass") {
      throw new Error(answer.reason || "shellgate stopped this call.");
    }
  },
});
