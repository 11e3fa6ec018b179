import { Problem } from '@parley/shared/problem'
import type { RequestHandler } from 'express'

// RFC 3986's characters of a path; everything else has to come percent-encoded.
const PATH = /^(?:\/(?:[\w\-.~!$&'()*+,;=:@]|%[0-9A-Fa-f]{2})*)+$/
const QUERY = /^[\x21\x22\x24-\x7e]*$/
const EMPTY_OR_DOTS = /\/(?:\.{0,2})(?=\/)|\/\.{1,2}$/
// Unreserved characters, slash, backslash and control characters: encoded, they only serve to hide something.
const HIDDEN = /%(?:[01][0-9a-f]|2[def]|3[0-9]|4[1-9a-f]|5[0-9acf]|6[1-9a-f]|7[0-9aef])/i

/** Whether a request target is in the one form that every part of the system reads in the same way. */
export function isCanonical(url: string): boolean {
  const at = url.indexOf('?')
  const path = at === -1 ? url : url.slice(0, at)
  if (at !== -1 && !QUERY.test(url.slice(at))) return false
  if (!PATH.test(path) || EMPTY_OR_DOTS.test(path)) return false
  return !path.includes('%') || (!HIDDEN.test(path) && isUtf8(path))
}

function isUtf8(path: string): boolean {
  try {
    decodeURIComponent(path)
    return true
  } catch {
    return false
  }
}

/** Refuses targets that are not canonical, absolute forms among them. */
export function canonicalPath(): RequestHandler {
  return (req, _res, next) => {
    if (!isCanonical(req.url)) throw new Problem('invalid_path')
    next()
  }
}
