/** The collections of the configuration service as they stand in paths: `/rest/<name>`. */
export const CONFIGURATION_RESOURCES = [
  'channels',
  'tasks',
  'steps',
  'assistant',
  'configs',
  'actions',
  'jobs',
  'workflows',
  'subscriptions',
] as const

/** What the rules of roles are about: each `resource` that something is decided of. */
export const RULED_RESOURCES: readonly string[] = [
  ...['messages', 'threads'],
  ...CONFIGURATION_RESOURCES,
  ...['users', 'roles', 'tokens', 'workspaces', 'audit', 'usage'],
]

/** Further names of collections: `/rest/<alias>` is the same as `/rest/<name>`. */
export const RESOURCE_ALIASES: Readonly<Record<string, (typeof CONFIGURATION_RESOURCES)[number]>> = {
  assistants: 'assistant',
}

/** The paths below `/rest/` at which a collection is: its name, and its aliases. */
export function pathsOf(name: string): string[] {
  return [name, ...Object.keys(RESOURCE_ALIASES).filter((alias) => RESOURCE_ALIASES[alias] === name)]
}
