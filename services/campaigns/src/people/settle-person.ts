import type { AttributeValue } from '../attributes/attribute-values.ts'
import { type Consent, nameKeyOf, type PersonRecord, PURPOSES, type Purpose } from '../store/person-record.ts'
import { MAX_ADDRESSES, MAX_TAGS } from './person-schema.ts'

const MAX_JOINED = 64
const MAX_IMPORTS = 20

/** The known facts about one person; a field that is left out says nothing. */
export interface PersonClaim {
  /** `kind:value`, all of them theirs: who else had one of them is the same person. */
  addresses: readonly string[]
  /** Addresses that they have left, and when: whoever had one of them, and has not written since, is the same person without it. */
  left?: { addresses: readonly string[]; at: Date } | undefined
  name?: string | undefined
  language?: string | undefined
  timeZone?: string | undefined
  attributes?: Readonly<Record<string, AttributeValue>> | undefined
  /** Added to those that they have. */
  tags?: readonly string[] | undefined
  lastContactAt?: Date | undefined
  /** The consent they gave, as far as it was handed in: a person who has withdrawn it is not taken to have granted it. */
  consent?: ConsentChanges | undefined
  /** The id of the import that says it. */
  importId?: string | undefined
}

/** The consent for each purpose that is reported. */
export type ConsentChanges = Readonly<Partial<Record<Purpose, Consent>>>

/** The records to write after a claim. */
export interface Settled {
  person: PersonRecord
  change: 'new' | 'changed' | 'none'
  /** Those who turned out to be this person: they go. */
  joined: PersonRecord[]
  /** The new part of the claim's consent. */
  consent: ConsentChanges
  /** They were said to have granted what they have withdrawn, which stays. */
  staysWithdrawn: boolean
  /** An earlier row of the same import was about them. */
  isRepeated: boolean
}

/** A claim that would make a person larger than one may be. */
export class TooMuchOfOnePerson extends Error {
  readonly field: 'addresses' | 'tags'

  constructor(field: 'addresses' | 'tags') {
    super(`a person would have too many ${field}`)
    this.field = field
  }
}

/**
 * The person of a claim, made of those who have its addresses; the oldest of them goes on. Where two say different things
 * the one that was written last is believed, but who withdrew consent has withdrawn it. Throws {@link TooMuchOfOnePerson}.
 */
export function settlePerson(
  known: readonly PersonRecord[],
  claim: PersonClaim & { workspace: number },
  fresh: { _id: string; now: Date },
): Settled {
  const [oldest, ...others] = known.toSorted(byAge)
  const before =
    oldest === undefined ? emptyPerson(claim.workspace, fresh) : others.reduce(joinPeople, oldest)
  const { consent, staysWithdrawn } = newConsent(before, claim)
  const person = withClaim(before, { ...claim, consent })
  if (person.addresses.length > MAX_ADDRESSES) throw new TooMuchOfOnePerson('addresses')
  if (person.tags.length > MAX_TAGS) throw new TooMuchOfOnePerson('tags')
  const isSame = oldest !== undefined && others.length === 0 && isUnchanged(oldest, person)
  return {
    person: isSame ? oldest : { ...person, updatedAt: fresh.now },
    change: oldest === undefined ? 'new' : isSame ? 'none' : 'changed',
    joined: others,
    ...{ consent, staysWithdrawn },
    isRepeated: claim.importId !== undefined && (before.imports?.includes(claim.importId) ?? false),
  }
}

/**
 * Those whom a claim is about, of the people by their addresses. Whoever writes from an address after it was left is
 * somebody else.
 */
export function peopleOfClaim(
  { addresses, left }: PersonClaim,
  people: ReadonlyMap<string, PersonRecord>,
): PersonRecord[] {
  const own = addresses.flatMap((address) => people.get(address) ?? [])
  const before = (left?.addresses ?? []).flatMap((address) => people.get(address) ?? [])
  const hasMoved = ({ lastContactAt }: PersonRecord) =>
    lastContactAt === undefined || left === undefined || lastContactAt <= left.at
  return [...new Set([...own, ...before.filter(hasMoved)])]
}

function newConsent(
  { consent: before }: PersonRecord,
  { consent: said = {} }: PersonClaim,
): Pick<Settled, 'consent' | 'staysWithdrawn'> {
  const consent: Partial<Record<Purpose, Consent>> = {}
  let staysWithdrawn = false
  for (const purpose of PURPOSES) {
    const [one, known] = [said[purpose], before[purpose]]
    if (one === undefined || one.status === known?.status) continue
    if (known?.status === 'withdrawn') staysWithdrawn = true
    else consent[purpose] = one
  }
  return { consent, staysWithdrawn }
}

const byAge = (one: PersonRecord, other: PersonRecord): number =>
  one.createdAt.getTime() - other.createdAt.getTime() || (one._id < other._id ? -1 : 1)

/** Somebody of whom nothing is known yet. */
export function emptyPerson(workspace: number, { _id, now }: { _id: string; now: Date }): PersonRecord {
  return {
    ...{ _id, workspace, addresses: [], attributes: {}, tags: [], consent: {} },
    ...{ createdAt: now, updatedAt: now, revision: 0 },
  }
}

/** One person of two, under the id of the first. */
function joinPeople(first: PersonRecord, second: PersonRecord): PersonRecord {
  const [earlier, later] = first.updatedAt > second.updatedAt ? [second, first] : [first, second]
  const imports = union(earlier.imports ?? [], later.imports ?? []).slice(-MAX_IMPORTS)
  return {
    ...earlier,
    ...later,
    ...{ _id: first._id, createdAt: first.createdAt, revision: first.revision },
    addresses: union(first.addresses, second.addresses),
    attributes: { ...earlier.attributes, ...later.attributes },
    tags: union(first.tags, second.tags),
    consent: joinConsent(first, second),
    ...latest(first.lastContactAt, second.lastContactAt),
    ...(imports.length > 0 && { imports }),
    joined: union(first.joined ?? [], [second._id, ...(second.joined ?? [])]).slice(-MAX_JOINED),
  }
}

function joinConsent(first: PersonRecord, second: PersonRecord): PersonRecord['consent'] {
  const consent: PersonRecord['consent'] = {}
  for (const purpose of PURPOSES) {
    const said = [first.consent[purpose], second.consent[purpose]].filter((one) => one !== undefined)
    const [best] = said.toSorted(byCaution)
    if (best !== undefined) consent[purpose] = best
  }
  return consent
}

/** Sorts withdrawals to the front, then the latest consent. */
const byCaution = (one: Consent, other: Consent): number =>
  Number(other.status === 'withdrawn') - Number(one.status === 'withdrawn') ||
  other.at.getTime() - one.at.getTime()

function withClaim(person: PersonRecord, claim: PersonClaim): PersonRecord {
  const { name, language, timeZone, importId, consent = {} } = claim
  return {
    ...person,
    addresses: union(person.addresses, claim.addresses).filter((one) => !claim.left?.addresses.includes(one)),
    ...(name !== undefined && { name, nameKey: nameKeyOf(name) }),
    ...(language !== undefined && { language }),
    ...(timeZone !== undefined && { timeZone }),
    ...(importId !== undefined && { imports: union(person.imports ?? [], [importId]).slice(-MAX_IMPORTS) }),
    consent: { ...person.consent, ...consent },
    attributes: claim.attributes ? { ...person.attributes, ...claim.attributes } : person.attributes,
    tags: union(person.tags, claim.tags ?? []),
    ...latest(person.lastContactAt, claim.lastContactAt),
  }
}

function latest(one: Date | undefined, other: Date | undefined): Pick<PersonRecord, 'lastContactAt'> {
  const found = one === undefined || (other !== undefined && other > one) ? other : one
  return found === undefined ? {} : { lastContactAt: found }
}

function union(one: readonly string[], other: readonly string[]): string[] {
  return [...new Set([...one, ...other])]
}

const SCALARS = ['name', 'language', 'timeZone', 'lastContactAt'] as const

/** True if a claim has nothing new: tags are only ever added, so that equal sizes are equal sets. */
function isUnchanged(before: PersonRecord, after: PersonRecord): boolean {
  return (
    SCALARS.every((field) => before[field] === after[field]) &&
    PURPOSES.every((purpose) => before.consent[purpose] === after.consent[purpose]) &&
    (before.imports ?? []).at(-1) === (after.imports ?? []).at(-1) &&
    before.addresses.length === after.addresses.length &&
    before.addresses.every((one) => after.addresses.includes(one)) &&
    before.tags.length === after.tags.length &&
    areEqual(before.attributes, after.attributes)
  )
}

function areEqual(before: PersonRecord['attributes'], after: PersonRecord['attributes']): boolean {
  const names = Object.keys(after)
  return names.length === Object.keys(before).length && names.every((name) => before[name] === after[name])
}
