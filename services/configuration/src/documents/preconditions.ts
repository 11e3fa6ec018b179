import { Problem } from '@parley/shared/problem'
import type { Request, Response } from 'express'
import type { LiveDocument } from '../store/stored-document.ts'

/** The entity tag of a document: its version, which goes on through deletion. */
export const etagOf = (version: number): string => `"${version}"`

/** Throws `precondition_failed` unless the request's If-Match and If-None-Match let it write over `current`. */
export function requirePreconditions(req: Request, current: LiveDocument | undefined): void {
  const ifMatch = req.get('if-match')
  if (ifMatch !== undefined && !matches(ifMatch, current)) throw new Problem('precondition_failed')
  const ifNoneMatch = req.get('if-none-match')
  if (ifNoneMatch !== undefined && matches(ifNoneMatch, current)) throw new Problem('precondition_failed')
}

/** Sends a document with its tag, or 304 to a caller that has it already. */
export function sendDocument(req: Request, res: Response, { version, doc }: LiveDocument): void {
  res.set('etag', etagOf(version)).set('cache-control', 'private, no-cache')
  const known = req.method === 'GET' || req.method === 'HEAD' ? req.get('if-none-match') : undefined
  if (known !== undefined && matches(known, { version, doc }, { weakly: true })) {
    return void res.status(304).end()
  }
  res.json(doc)
}

function matches(header: string, current: LiveDocument | undefined, options = { weakly: false }): boolean {
  if (current === undefined) return false
  if (header.trim() === '*') return true
  const tags = header.split(',').map((tag) => tag.trim())
  const own = etagOf(current.version)
  return tags.some((tag) => (options.weakly ? tag.replace(/^W\//, '') : tag) === own)
}
