import type { ResourceName } from '@parley/shared/configuration-resources'
import { definitions } from '../src/resources/all-resources.ts'

/** A complete, valid body for every resource. */
export const bodies = Object.fromEntries(
  Object.entries(definitions).map(([name, { example }]) => [name, example]),
) as Record<ResourceName, Readonly<Record<string, unknown>>>
