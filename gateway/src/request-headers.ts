import { Problem } from '@parley/shared/problem'
import type { RequestHandler } from 'express'

const AUTHORIZATION = 'authorization'

/**
 * Refuses what two readers may read in two ways: a body in any transfer coding but `chunked`, and a second
 * `Authorization`, of which each reader might take another one.
 */
export function unambiguousHeaders(): RequestHandler {
  return ({ headers, rawHeaders }, _res, next) => {
    const coding = headers['transfer-encoding']
    if (coding !== undefined && coding.toLowerCase() !== 'chunked') throw new Problem('malformed_request')
    let authorizations = 0
    for (let at = 0; at < rawHeaders.length; at += 2) if (isAuthorization(rawHeaders[at])) authorizations++
    if (authorizations > 1) throw new Problem('malformed_request')
    next()
  }
}

function isAuthorization(name = ''): boolean {
  return name.length === AUTHORIZATION.length && name.toLowerCase() === AUTHORIZATION
}
