import { CORE_SCHEMA, intCoreTag } from 'js-yaml'
import { exactNumber } from './exact-number.ts'

const PLAIN = /^-?\d+$/

/** YAML's core schema, in which integers that a double would print as other ones are as they are written. */
export const EXACT_SCHEMA = CORE_SCHEMA.withTags({
  ...intCoreTag,
  resolve: (source, isExplicit, tagName) =>
    PLAIN.test(source) ? exactNumber(source) : intCoreTag.resolve(source, isExplicit, tagName),
})
