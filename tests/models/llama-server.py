import signal
import sys

import xllamacpp

parameters = xllamacpp.CommonParams()
parameters.model.path = sys.argv[1]
parameters.hostnames = ["127.0.0.1"]
parameters.port = int(sys.argv[2])
parameters.n_ctx = 4096
parameters.n_parallel = 1
parameters.use_jinja = True
server = xllamacpp.Server(parameters)
signal.pause()
