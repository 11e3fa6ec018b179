import { RESOURCES, type ResourceName } from '../resources/definition.ts'

/** Exported and imported: all but tasks, which are state. */
export const TRANSFERRED: readonly ResourceName[] = RESOURCES.filter((name) => name !== 'tasks')

/** What the exported form is called; a change that old importers would misread gets another number. */
export const FORMAT_VERSION = 1
