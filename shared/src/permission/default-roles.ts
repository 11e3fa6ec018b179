const WORKSPACE = '{{account.workspace._id}}'
const ORDINARY = "['users','roles','tokens','audit'].indexOf({{resource}}) < 0"

/** The roles that every workspace is made with; the first one is the new user's. */
export const DEFAULT_ROLES = [
  { name: 'WORKSPACE_ADMIN', permissions: [{ schema: 'true', read: WORKSPACE, write: WORKSPACE }] },
  { name: 'MEMBER', permissions: [{ schema: ORDINARY, read: WORKSPACE, write: WORKSPACE }] },
  { name: 'VIEWER', permissions: [{ schema: ORDINARY, read: WORKSPACE, write: '' }] },
  { name: 'PROVIDER', permissions: [{ schema: "{{resource}} == 'messages'", read: '', write: WORKSPACE }] },
] as const
