// MARK (version VERSION); `shellgate uninstall` removes it.
// Hands every tool call to shellgate. What it refuses is rejected; what it asks about is shown to the
// person, and rejected where nobody can be asked. A gate that cannot be asked stops the tool.
import { spawnSync } from "node:child_process";

const program = PROGRAM;

export default function (amp: any) {
  amp.on("tool.call", async (event: any, ctx: any) => {
    const run = spawnSync(program, ["hook", "amp"], {
      input: JSON.stringify({
        cwd: process.cwd(),
        workspaces: [process.cwd()],
        tool: event.tool,
        input: event.input,
      }),
      encoding: "utf8",
      timeout: 30000,
    });
    let answer: any;
    try {
      answer = JSON.parse(run.stdout);
    } catch {
      answer = undefined;
    }
    const reject = (message: string) => ({ action: "reject-and-continue", message });
    if (run.status !== 0 || !answer) {
      return reject("shellgate could not be asked, so the tool was not run; `shellgate doctor` says why.");
    }
    if (answer.decision === "pass") return { action: "allow" };
    if (answer.decision === "ask" && typeof ctx?.ui?.confirm === "function") {
      const agreed = await ctx.ui.confirm({ title: "shellgate", message: answer.person });
      if (agreed === true) return { action: "allow" };
    }
    return reject(answer.reason || "shellgate stopped this call.");
  });
}
