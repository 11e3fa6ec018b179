import { Problem } from '@parley/shared/problem'
import type { Request, Response } from 'express'
import { cachingOf } from '../secrets/presenter.ts'
import type { LiveDocument } from '../store/stored-document.ts'

/** The version of a document to send, and the document as the caller may see it. */
interface Sent extends LiveDocument {
  /** Secrets in it are masked, so that it isn't the same as what others get. */
  masked?: boolean
}

/** The version goes on through deletion, so that a tag never comes again. */
const etagOf = ({ version, masked }: { version: number; masked?: boolean }): string =>
  masked ? `"${version}-masked"` : `"${version}"`

/**
 * Throws `precondition_failed` unless the request's If-Match and If-None-Match let it write over `current`. Either tag
 * of a version names it: a writer is shown a masked document, too, where a secret in it can't be opened.
 */
export function requirePreconditions(req: Request, current: LiveDocument | undefined): void {
  const own = current && [false, true].map((masked) => etagOf({ ...current, masked }))
  const ifMatch = req.get('if-match')
  if (ifMatch !== undefined && !matches(ifMatch, own)) throw new Problem('precondition_failed')
  const ifNoneMatch = req.get('if-none-match')
  if (ifNoneMatch !== undefined && matches(ifNoneMatch, own)) throw new Problem('precondition_failed')
}

/** Sends a document with its tag, or 304 to a caller that has it already. */
export function sendDocument(req: Request, res: Response, sent: Sent): void {
  const etag = etagOf(sent)
  res.set('etag', etag).set('cache-control', cachingOf(sent.doc))
  const known = req.method === 'GET' || req.method === 'HEAD' ? req.get('if-none-match') : undefined
  // Weak tags do for reading.
  if (matches(known?.replaceAll('W/', ''), [etag])) return void res.status(304).end()
  res.json(sent.doc)
}

function matches(header: string | undefined, own: string[] | undefined): boolean {
  if (header === undefined || own === undefined) return false
  const tags = header.split(',').map((tag) => tag.trim())
  return own.some((tag) => tags.includes(tag)) || header.trim() === '*'
}
