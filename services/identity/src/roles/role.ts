import type { Resource } from '../resource-routes.ts'
import { type Role, roleExample, roleSchema, roleView } from '../store/role.ts'

/** The roles of a workspace. */
export const roles: Resource<Role> = {
  name: 'roles',
  path: '/rest/roles',
  tag: 'administration',
  title: 'Role',
  schema: roleSchema,
  example: roleExample,
  view: roleView,
  collection: (collections) => collections.roles,
}
