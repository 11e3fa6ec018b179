import { LRUCache } from 'lru-cache'
import { RE2JS } from 're2js'
import { SpecError } from './spec-error.ts'

const MAX_PATTERNS = 1_000
const MAX_SHOWN = 100

const compiled = new LRUCache<string, RE2JS>({ max: MAX_PATTERNS })

/** A pattern of a schema, in JavaScript's syntax, matched in time linear in the text. Throws {@link SpecError}. */
export function linearPattern(source: string): RE2JS {
  const known = compiled.get(source)
  if (known !== undefined) return known
  const pattern = compile(source)
  compiled.set(source, pattern)
  return pattern
}

function compile(source: string): RE2JS {
  try {
    return RE2JS.compile(RE2JS.translateRegExp(source))
  } catch {
    const shown = JSON.stringify(source.slice(0, MAX_SHOWN))
    throw new SpecError(`has a pattern that RE2, which matches in linear time, does not take: ${shown}`)
  }
}

/**
 * Runs `work`, in which every `new RegExp(pattern)` is matched in linear time: the interpreter of schemas makes its
 * patterns by the global constructor and takes no other. Nothing else runs meanwhile, since `work` is synchronous.
 */
export function withLinearPatterns<T>(work: () => T): T {
  const native = globalThis.RegExp
  globalThis.RegExp = LinearRegExp as unknown as RegExpConstructor
  try {
    return work()
  } finally {
    globalThis.RegExp = native
  }
}

class LinearRegExp {
  readonly #pattern: RE2JS

  constructor(source: string) {
    this.#pattern = linearPattern(source)
  }

  test(text: string): boolean {
    return this.#pattern.matcher(text).find()
  }
}
