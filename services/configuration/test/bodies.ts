import { definitions } from '../src/resources/all-resources.ts'
import type { ResourceName } from '../src/resources/definition.ts'

/** A complete, valid body for every resource. */
export const bodies = Object.fromEntries(
  Object.entries(definitions).map(([name, { example }]) => [name, example]),
) as Record<ResourceName, Readonly<Record<string, unknown>>>
