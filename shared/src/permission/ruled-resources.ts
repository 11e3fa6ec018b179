import { CONFIGURATION_RESOURCES } from '../configuration-resources.ts'

/** What the rules of roles are about: each `resource` that something is decided of. */
export const RULED_RESOURCES: readonly string[] = [
  ...['messages', 'threads'],
  ...CONFIGURATION_RESOURCES,
  ...['users', 'roles', 'tokens', 'workspaces', 'audit', 'usage'],
]
