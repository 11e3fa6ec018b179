import type { SecretPlace } from './map-secrets.ts'
import { MASK } from './secret-names.ts'
import { isSecretLeaf, type Reach, reachOfMember, secretPartsOf } from './secret-places.ts'
import type { SecretPart } from './secret-urls.ts'

type Members = Record<string, unknown>

/** Compares a secret as it was sent with the stored one. */
type IsSame = (sent: unknown, stored: unknown) => boolean

/**
 * `stored` with the items of its arrays where `sent` has them, so that a masked secret of `sent` finds its own under
 * its own path. An item with a masked secret is found by what else it has; where that is not certain, as for a
 * list of secrets that is not as long any more, nothing is in its place.
 */
export function alignItems(
  sent: unknown,
  stored: unknown,
  isSame: IsSame,
  reach: Reach = 'document',
): unknown {
  const contentOf = contentReader()
  return isMasked(contentOf(sent, reach)) ? align(sent, stored, { reach, isSame, contentOf }) : stored
}

/**
 * The secret that a document has in this place; undefined without one, and for part of a text whose URL leads to another
 * host there.
 */
export function secretAt(document: unknown, { path, reach, part }: SecretPlace): unknown {
  let value = document
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
    value = (value as Members)[key]
  }
  if (typeof value === 'object') return undefined
  if (part === undefined) return value
  if (typeof value !== 'string') return undefined
  const isSame = ({ kind, origin }: SecretPart) => kind === part.kind && origin === part.origin
  const parts = secretPartsOf(value, reach)
  const atSame = parts[part.index]
  const alike = parts.filter(isSame)
  const found = atSame !== undefined && isSame(atSame) ? atSame : alike.length === 1 ? alike[0] : undefined
  return found && value.slice(found.from, found.to)
}

interface Place {
  reach: Reach
  isSame: IsSame
  contentOf(value: unknown, reach: Reach): Content
}

function align(sent: unknown, stored: unknown, place: Place): unknown {
  if (Array.isArray(sent) && Array.isArray(stored)) {
    const positions = pairItems(sent, stored, place)
    return sent.map((item, at) => {
      const position = positions[at]
      return position === undefined ? undefined : align(item, stored[position], place)
    })
  }
  if (!isObject(sent) || !isObject(stored)) return stored
  return Object.fromEntries(
    Object.entries(stored).map(([key, inner]) => {
      const reach = reachOfMember(sent, key, place.reach)
      return [key, Object.hasOwn(sent, key) ? align(sent[key], inner, { ...place, reach }) : inner]
    }),
  )
}

const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

interface Content {
  /** The open part, and where the secrets are, as JSON; the same whatever the order of members. */
  open: string
  /** In a fixed order, so that the same `open` has them at the same places. */
  secrets: unknown[]
}

/** Remembers what it read: the items of lists in lists are compared at each level. */
function contentReader() {
  const known = new WeakMap<object, Content>()
  const readMembers = (value: object, reach: Reach): Content => {
    const secrets: unknown[] = []
    const openOf = (inner: unknown, of: Reach): string => {
      const content = read(inner, of)
      for (const each of content.secrets) secrets.push(each)
      return content.open
    }
    if (Array.isArray(value)) return { open: `[${value.map((item) => openOf(item, reach)).join()}]`, secrets }
    const members = Object.entries(value)
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([key, inner]) => `${JSON.stringify(key)}:${openOf(inner, reachOfMember(value, key, reach))}`)
    return { open: `{${members.join()}}`, secrets }
  }
  const read = (value: unknown, reach: Reach): Content => {
    if (value === null || value === undefined) return { open: 'null', secrets: [] }
    if (typeof value !== 'object') return contentOfLeaf(value, reach)
    const content = known.get(value) ?? readMembers(value, reach)
    known.set(value, content)
    return content
  }
  return read
}

function contentOfLeaf(value: unknown, reach: Reach): Content {
  if (isSecretLeaf(value, reach)) return { open: '*', secrets: [value] }
  if (typeof value !== 'string') return { open: JSON.stringify(value), secrets: [] }
  const secrets: string[] = []
  let open = ''
  let from = 0
  for (const part of secretPartsOf(value, reach)) {
    open += `${value.slice(from, part.from)}*`
    secrets.push(value.slice(part.from, part.to))
    from = part.to
  }
  return { open: JSON.stringify(open + value.slice(from)), secrets }
}

/** For each item of `sent` the position of the same item in `stored`; undefined where it is not certain. */
function pairItems(
  sent: unknown[],
  stored: unknown[],
  { reach, isSame, contentOf }: Place,
): (number | undefined)[] {
  const [ours, theirs] = [sent, stored].map((items) => items.map((item) => contentOf(item, reach)))
  const own = sent.map((_, at) => at)
  if (ours === undefined || theirs === undefined || !ours.some(isMasked)) return own
  const agree = (one: Content, other: Content | undefined) =>
    one.open === other?.open &&
    one.secrets.every((secret, at) => secret === MASK || isSame(secret, other.secrets[at]))
  if (ours.length === theirs.length && ours.every((one, at) => agree(one, theirs[at]))) return own
  const pairs: (number | undefined)[] = sent.map(() => undefined)
  // Of those with a mask alone: a document has few secrets, and may have very many items.
  const [sentAlike, storedAlike] = [positionsByOpen(ours), positionsByOpen(theirs)]
  for (const open of new Set(ours.filter(isMasked).map((one) => one.open)))
    pairAlike(sentAlike.get(open) ?? [], storedAlike.get(open) ?? [], { ours, theirs, pairs, agree })
  pairEdited(pairs, ours, theirs)
  return pairs
}

function positionsByOpen(items: Content[]): Map<string, number[]> {
  const positions = new Map<string, number[]>()
  for (const [at, { open }] of items.entries()) {
    const alike = positions.get(open)
    if (alike === undefined) positions.set(open, [at])
    else alike.push(at)
  }
  return positions
}

const isMasked = ({ secrets }: Content): boolean => secrets.includes(MASK)

/**
 * Items that differ in their secrets at most: those with a known secret first, then as many masked as are left, or those
 * that a list of the same length begins with as before.
 */
function pairAlike(
  sent: number[],
  stored: number[],
  options: {
    ours: Content[]
    theirs: Content[]
    pairs: (number | undefined)[]
    agree(one: Content, other: Content | undefined): boolean
  },
): void {
  const { ours, theirs, pairs, agree } = options
  const left = new Set(stored)
  const hasPlain = (at: number) => ours[at]?.secrets.some((secret) => secret !== MASK) === true
  for (const at of sent.filter(hasPlain)) {
    const one = ours[at]
    const same = [...left].filter((position) => one && agree(one, theirs[position]))
    const [first] = same
    if (one === undefined || first === undefined || (isMasked(one) && same.length > 1)) continue
    pairs[at] = first
    left.delete(first)
  }
  const masked = sent.filter((at) => pairs[at] === undefined && ours[at] && isMasked(ours[at]))
  const areAllLeft = masked.length === left.size && !(masked.length > 1 && masked.some(hasPlain))
  const areFirst = sent.length === stored.length && masked.every((at, index) => at === sent[index])
  if (!areAllLeft && !(areFirst && stored.slice(0, masked.length).every((at) => left.has(at)))) return
  const positions = areAllLeft ? [...left] : stored
  masked.forEach((at, index) => {
    pairs[at] = positions[index]
  })
}

/** The one item that was edited in its place, all others being in theirs. */
function pairEdited(pairs: (number | undefined)[], ours: Content[], theirs: Content[]): void {
  if (ours.length !== theirs.length) return
  const [edited, ...others] = [...ours.keys()].filter((at) => ours[at]?.open !== theirs[at]?.open)
  if (edited !== undefined && others.length === 0 && !pairs.includes(edited)) pairs[edited] ??= edited
}
