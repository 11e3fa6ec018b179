import { isSecretKey } from './secret-names.ts'
import { isSecretLeaf, type Reach, reachOfMember, secretPartsOf } from './secret-places.ts'
import type { SecretPart } from './secret-urls.ts'

/** A value that can be a secret: what is under a secret key, objects and arrays aside. */
export type SecretLeaf = string | number | boolean

/** Where a secret lies. */
export interface SecretPlace {
  path: readonly string[]
  reach: Reach
  /** Which secret part of a text it is, counted from 0; undefined where it is the whole value. */
  part?: SecretPart & { index: number }
}

/** Makes what is to stand in the place of a secret, by its value and where it lies. */
type ReplaceSecret = (leaf: SecretLeaf, place: SecretPlace) => unknown

interface Mapping {
  replace: ReplaceSecret
  /** Texts that it is not true of have no part to be replaced. */
  mayHaveParts?: (text: string) => boolean
}

/**
 * A clone of `value` in which every secret is replaced, also those that are a part of a text; the same object where
 * nothing changed. What is secret follows from where `value` lies: a document, unless said otherwise. Nulls are no
 * secrets.
 */
export function mapSecrets<T>(
  value: T,
  replace: ReplaceSecret,
  { reach = 'document', mayHaveParts }: { reach?: Reach } & Pick<Mapping, 'mayHaveParts'> = {},
): T {
  const mapping = mayHaveParts === undefined ? { replace } : { replace, mayHaveParts }
  return mapped(value, mapping, { reach, path: [] }) as T
}

function mapped(value: unknown, mapping: Mapping, place: SecretPlace): unknown {
  if (value === null || value === undefined) return value
  if (Array.isArray(value)) return mapItems(value, mapping, place)
  if (typeof value === 'object') return mapMembers(value, mapping, place)
  if (isSecretLeaf(value, place.reach)) return mapping.replace(value as SecretLeaf, place)
  return typeof value === 'string' ? mapParts(value, mapping, place) : value
}

function mapItems(items: unknown[], mapping: Mapping, { reach, path }: SecretPlace): unknown[] {
  let changed: unknown[] | undefined
  for (const [at, item] of items.entries()) {
    const next = mapped(item, mapping, { reach, path: [...path, String(at)] })
    if (next === item) continue
    changed ??= [...items]
    changed[at] = next
  }
  return changed ?? items
}

function mapMembers(object: object, mapping: Mapping, { reach, path }: SecretPlace): object {
  const changes = new Map<string, unknown>()
  for (const [key, inner] of Object.entries(object) as [string, unknown][]) {
    const next = mapped(inner, mapping, { reach: reachOfMember(object, key, reach), path: [...path, key] })
    if (next !== inner) changes.set(key, next)
  }
  if (changes.size === 0) return object
  // Object.fromEntries defines its keys, so that a `__proto__` stays one.
  return Object.fromEntries(
    Object.entries(object).map(([key, inner]) => [key, changes.has(key) ? changes.get(key) : inner]),
  )
}

function mapParts(text: string, { replace, mayHaveParts }: Mapping, place: SecretPlace): string {
  if (mayHaveParts?.(text) === false) return text
  const parts = secretPartsOf(text, place.reach)
  if (parts.length === 0) return text
  let result = ''
  let from = 0
  for (const [index, part] of parts.entries()) {
    const secret = text.slice(part.from, part.to)
    result += text.slice(from, part.from) + String(replace(secret, { ...place, part: { ...part, index } }))
    from = part.to
  }
  return result + text.slice(from)
}

/** True when services of the release before know the place of a secret for one. */
export const isSettled = ({ path, part }: SecretPlace): boolean =>
  part === undefined && path.some((key) => isSecretKey(key))
