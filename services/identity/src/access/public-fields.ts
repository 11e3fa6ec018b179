// An invitation is a user to be, so the rules for users are the rules for both.
const USER = ['_id', 'provider', 'username', 'name', 'phone', 'profile', 'workspace', 'role']
const INVITATION = ['email', 'account', 'expiresAt']

const FIELDS: Record<string, ReadonlySet<string>> = {
  users: new Set([...USER, ...INVITATION, 'context', 'createdAt', 'updatedAt']),
  roles: new Set(['_id', 'workspace', 'name', 'version', 'permissions', 'createdAt', 'updatedAt']),
  tokens: new Set([
    ...['_id', 'workspace', 'account', 'role', 'name', 'createdAt', 'expiresAt', 'lastUsedAt'],
  ]),
  workspaces: new Set([
    ...['_id', 'name', 'namespace', 'host', 'status', 'context', 'createdAt', 'updatedAt'],
  ]),
  audit: new Set([
    ...['_id', 'workspace', 'at', 'account', 'token', 'action', 'resource', 'document', 'details'],
  ]),
}

/** What a rule sees of the documents that this service stores: the fields of their public views, and no hash. */
export const publicFieldsOf = (resource: string): ReadonlySet<string> | undefined => FIELDS[resource]
