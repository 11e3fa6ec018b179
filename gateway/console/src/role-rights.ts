import { RULED_RESOURCES } from '@parley/shared/configuration-resources'

/** An entry of a role, as it is stored. */
export interface Entry {
  schema?: unknown
  read?: unknown
  write?: unknown
}

/** The checked rights for one resource. */
export interface Right {
  read: boolean
  write: boolean
  /** The documents that are meant, as an expression; empty for all. */
  which: string
}

/** A role as check boxes, and the entries that are none. */
export interface RoleRights {
  rights: Readonly<Record<string, Right>>
  others: readonly Entry[]
}

const ALL = '{{account.workspace._id}}'
const NO_RIGHT: Right = { read: false, write: false, which: '' }
const ONE = /^\{\{resource\}\} == '([a-z]+)'$/
const SOME = /^\[((?:'[a-z]+',)*'[a-z]+')\]\.indexOf\(\{\{resource\}\}\) (>= 0|< 0)$/

/** The check boxes of a role's entries; what check boxes can't say stays as it is. */
export function rightsOf(entries: readonly Entry[]): RoleRights {
  const rights: Record<string, Right> = Object.fromEntries(RULED_RESOURCES.map((name) => [name, NO_RIGHT]))
  const taken = new Set<string>()
  const others: Entry[] = []
  for (const entry of entries) {
    const resources = resourcesOf(entry.schema)
    const right = rightOf(entry)
    if (resources === undefined || right === undefined || resources.some((name) => taken.has(name))) {
      others.push(entry)
      continue
    }
    for (const name of resources) {
      taken.add(name)
      rights[name] = right
    }
  }
  return { rights, others }
}

function resourcesOf(schema: unknown): readonly string[] | undefined {
  if (schema === true || schema === 'true') return RULED_RESOURCES
  const text = String(schema)
  const one = ONE.exec(text)?.[1]
  const [, list, how] = SOME.exec(text) ?? []
  const named = one === undefined ? list?.split(',').map((name) => name.slice(1, -1)) : [one]
  if (named === undefined || named.some((name) => !RULED_RESOURCES.includes(name))) return undefined
  return how === '< 0' ? RULED_RESOURCES.filter((name) => !named.includes(name)) : named
}

function rightOf({ read, write }: Entry): Right | undefined {
  const [reads, writes] = [conditionOf(read), conditionOf(write)]
  const [which] = [...new Set([reads, writes].filter((one) => one !== undefined))]
  // Of what may be read and of what may be written there is one box for both.
  if (reads !== undefined && writes !== undefined && reads !== writes) return undefined
  return { read: reads !== undefined, write: writes !== undefined, which: which ?? '' }
}

/** Which documents a part grants: an empty text for all, undefined for none. */
function conditionOf(part: unknown): string | undefined {
  if (part === true) return ''
  if (typeof part !== 'string') return undefined
  const text = part.trim()
  if (text === ALL || text === 'true') return ''
  return text === '' || text === 'false' ? undefined : text
}

/** The entries that grant what is checked: one for all resources with the same right. */
export function entriesOf({ rights, others }: RoleRights): Entry[] {
  const groups = new Map<string, { right: Right; resources: string[] }>()
  for (const [name, right] of Object.entries(rights)) {
    if (!right.read && !right.write) continue
    const key = JSON.stringify([right.read, right.write, right.which.trim()])
    const group = groups.get(key)
    if (group === undefined) groups.set(key, { right, resources: [name] })
    else group.resources.push(name)
  }
  const granted = groups.values().map(({ right: { read, write, which }, resources }) => {
    const grant = which.trim() === '' ? ALL : which.trim()
    return { schema: schemaOf(resources), read: read ? grant : '', write: write ? grant : '' }
  })
  return [...granted, ...others]
}

function schemaOf(resources: readonly string[]): string {
  const [only] = resources
  if (resources.length === RULED_RESOURCES.length) return 'true'
  if (resources.length === 1) return `{{resource}} == '${only}'`
  return `[${resources.map((name) => `'${name}'`).join(',')}].indexOf({{resource}}) >= 0`
}
