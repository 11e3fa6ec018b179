import proxy from '@fastify/http-proxy'
import fastify from 'fastify'
import { isAuthorized } from './check-token.mjs'

const app = fastify()
await app.register(proxy, {
  upstream: process.env.UPSTREAM,
  undici: { connections: 128, pipelining: 1 },
  preHandler: async (req, reply) => {
    if (!isAuthorized(req.headers.authorization)) await reply.code(401).send()
  },
})
await app.listen({ port: Number(process.env.PORT), host: '127.0.0.1' })
