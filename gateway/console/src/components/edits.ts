import { mapSecrets } from '@parley/shared/map-secrets'
import { alignItems, secretAt } from '@parley/shared/masked-items'
import { MASK } from '@parley/shared/secret-names'
import { useState } from 'preact/hooks'
import type { Version } from '../resources.ts'

const SETTINGS: Field = { field: 'config', name: undefined }

const documentWith = (value: unknown, { field, name }: Field): Record<string, unknown> => ({
  name,
  [field]: value,
})

export type Values = Record<string, unknown>

/** Values typed into the form of a document, by field; every other field is as the document has it. */
export interface Typed {
  values: Values
  /** Of fields that are typed as JSON. */
  texts: Record<string, string>
  /** The version that was there when the first of it was typed. */
  over: Version<unknown> | undefined
}

export interface Edits {
  typed: Typed
  setValue(field: string, value: unknown, over: Version<unknown>): void
  setText(field: string, text: string, over: Version<unknown>): void
  /** `sent` was saved as `saved`; what was typed meanwhile stays. */
  settle(sent: Typed, saved: Version<unknown>): void
  /** A part of a field was changed by somebody who saw `from`, which made it `to`. */
  rebase(change: OwnChange): void
  clear(): void
}

interface OwnChange {
  from: Version<unknown>
  to: Version<unknown>
  field: string
  part: object
}

const NOTHING: Typed = { values: {}, texts: {}, over: undefined }

export function useEdits(): Edits {
  const [typed, setTyped] = useState(NOTHING)
  return {
    typed,
    setValue: (field, value, over) =>
      setTyped((now) => ({ ...now, over: now.over ?? over, values: { ...now.values, [field]: value } })),
    setText: (field, text, over) =>
      setTyped((now) => ({ ...now, over: now.over ?? over, texts: { ...now.texts, [field]: text } })),
    settle: (sent, saved) => setTyped((now) => typedSince(sent, now, saved)),
    rebase: (change) => setTyped((now) => rebased(now, change)),
    clear: () => setTyped(NOTHING),
  }
}

function typedSince(sent: Typed, now: Typed, over: Version<unknown>): Typed {
  const values = without(now.values, sent.values)
  const texts = without(now.texts, sent.texts)
  const isNothing = Object.keys({ ...values, ...texts }).length === 0
  return isNothing ? NOTHING : { values, texts, over }
}

const without = <T>(all: Record<string, T>, others: Record<string, T>): Record<string, T> =>
  Object.fromEntries(Object.entries(all).filter(([field, one]) => one !== others[field]))

/** Where somebody else's change came between, or JSON is half typed, it is still refused over what is there now. */
function rebased(now: Typed, { from, to, field, part }: OwnChange): Typed {
  if (now.over?.etag !== from.etag) return now
  const text = now.texts[field]
  if (text === undefined) return { ...now, over: to }
  try {
    const merged = {
      ...JSON.parse(text),
      ...(mask(part, { field, name: (to.data as { name?: unknown }).name }) as object),
    }
    return { ...now, over: to, texts: { ...now.texts, [field]: JSON.stringify(merged, null, 2) } }
  } catch {
    return now
  }
}

/** Which field of a document a value is, and what the document is named: the value of a config may be secret as a whole. */
interface Field {
  field: string
  name: unknown
}

/** A field with every secret in it masked, so that none is on the screen by accident. */
export function mask(value: unknown, of: Field = SETTINGS): unknown {
  return mapSecrets(documentWith(value, of), () => MASK)[of.field]
}

/** Returns the typed value, with the secrets of `before` where the mask was left and it is certain which was meant. */
export function unmask(typed: unknown, before: unknown, of: Field = SETTINGS): unknown {
  const [now, then] = [documentWith(typed, of), documentWith(before, of)]
  const own = alignItems(now, then, (one, other) => one === other)
  return mapSecrets(now, (leaf, place) => (leaf === MASK ? (secretAt(own, place) ?? leaf) : leaf))[of.field]
}
