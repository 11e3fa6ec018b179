import type { mongo } from 'mongoose'
import { ID_ONLY } from '../store/collections.ts'
import { type CounterDocument, takeIds } from '../store/ids.ts'
import type { Workspace } from '../store/workspace.ts'

// A DNS label has 63 characters; the rest is left for a number.
const MAX_LETTERS = 48
const FALLBACK = 'workspace'
const MAX_TRIES = 20
/** Names below the domain that people take for the operator's own, or that mail and browsers give a meaning. */
const RESERVED = new Set(
  [
    'abuse account accounts admin administrator api app apps assets auth autoconfig autodiscover billing blog',
    'cdn console dashboard dev docs gateway help hostmaster identity imap internal localhost login mail',
    'metrics mta-sts mx noreply ns ns1 ns2 oauth parley pop postmaster private root security smtp sso staff',
    'staging static status support system test webhook webhooks webmaster wpad www',
  ].flatMap((line) => line.split(' ')),
)

/** The DNS label that a namespace asks for: letters without their accents, digits, and single hyphens. */
export function slugOf(namespace: string): string {
  const letters = namespace
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, MAX_LETTERS + 1)
    .replace(/^-/, '')
    .slice(0, MAX_LETTERS)
    .replace(/-$/, '')
  return letters === '' ? FALLBACK : letters
}

/**
 * A slug for `namespace` that no workspace has: the plain one, else the next number (`acme`, `acme-2`); a reserved name
 * always gets a number.
 * Another registration may still take it first; the unique index has the last word.
 */
export async function freeSlug(
  collections: { workspaces: mongo.Collection<Workspace>; counters: mongo.Collection<CounterDocument> },
  namespace: string,
): Promise<string> {
  const base = slugOf(namespace)
  let slug = base
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    if (!RESERVED.has(slug) && (await collections.workspaces.findOne({ slug }, ID_ONLY)) === null) return slug
    const { number } = await takeIds({
      counters: collections.counters,
      from: `slug/${base}`,
      amounts: { number: 1 },
    })
    slug = `${base}-${number + 1}`
  }
  return slug
}
