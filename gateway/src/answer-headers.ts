import type { RequestHandler } from 'express'

const TWO_YEARS_SECONDS = 63_072_000

/** Tells browsers to come by TLS only, where `publicUrl` says that it ends in front of the gateway. */
export function strictTransport(publicUrl: string | undefined): RequestHandler {
  const isSecure = publicUrl?.startsWith('https:') === true
  return (_req, res, next) => {
    if (isSecure) res.setHeader('strict-transport-security', `max-age=${TWO_YEARS_SECONDS}`)
    next()
  }
}
