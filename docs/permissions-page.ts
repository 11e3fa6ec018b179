import { BY_REFERENCE, rightsText } from '@parley/shared/permission/by-reference'
import { type Access, decide } from '@parley/shared/permission/decide'
import { DEFAULT_ROLES } from '@parley/shared/permission/entry'
import { operations, type PermissionOperation } from './permission-operations.ts'

const WORKSPACE = 1
const MARK = '<!-- the table below is generated: npm run docs -->'
const REFERENCES_MARK = '<!-- the table of references is generated: npm run docs -->'
const REFERENCES_END = '<!-- end of the table of references -->'

/** True if one of the roles that every workspace begins with may do it, at least to some document. */
export function mayByDefault(role: string, { resource, access, path }: PermissionOperation): boolean {
  if (access === 'nothing' || access === 'token') return true
  // A document that may not be read is not there, and running messages again takes reading them.
  const takesReading = path.includes('{id}') || path.endsWith('/replay')
  return grantsByDefault(role, resource, access) && (!takesReading || grantsByDefault(role, resource, 'read'))
}

/** True if the role grants this access to at least one document of the resource. */
export function grantsByDefault(role: string, resource: string, access: Access): boolean {
  const permissions = DEFAULT_ROLES.find(({ name }) => name === role)?.permissions ?? []
  const account = { workspace: { _id: WORKSPACE } }
  return decide({ permissions, resource, account, access }).kind !== 'none'
}

/**
 * Whether the admin of one workspace may do it to what belongs to another. What names no document is about the
 * caller's own workspace; a configured document is created there by PUT, under the same id.
 */
export function mayToOthers({ method, path, access, service }: PermissionOperation): 'yes' | 'own' | 'no' {
  if (access === 'nothing') return 'yes'
  if (!path.includes('{id}')) return 'own'
  // Whoever names the document makes it in their own workspace.
  const isNamed = service === 'configuration' || path === '/rest/segments/{id}'
  return isNamed && method === 'PUT' ? 'own' : 'no'
}

/** The page with its two tables written anew; what is above and between them stays. */
export function renderPermissionsPage(page: string): string {
  return `${withReferences(page.split(MARK, 1)[0] ?? '')}${MARK}\n\n${tableOfRoles()}\n`
}

/** The grants of the roles that every workspace begins with: one line for the resources with the same grants. */
function tableOfRoles(): string {
  const roles = DEFAULT_ROLES.map(({ name }) => name)
  const resources = new Set(
    operations
      .filter(({ access }) => access === 'read' || access === 'write')
      .map(({ resource }) => resource),
  )
  const lines = Map.groupBy(resources, (resource) =>
    roles.map((role) => grantsText(role, resource)).join(' | '),
  )
  return [
    `| resources | ${roles.join(' | ')} |`,
    `| --- | ${roles.map(() => '---').join(' | ')} |`,
    ...lines
      .entries()
      .map(([cells, names]) => `| ${names.map((name) => `\`${name}\``).join(', ')} | ${cells} |`),
  ].join('\n')
}

function grantsText(role: string, resource: string): string {
  const granted = (['read', 'write'] as const).filter((access) => grantsByDefault(role, resource, access))
  return granted.length === 0 ? '–' : granted.join(', ')
}

function withReferences(text: string): string {
  const [before = '', rest = ''] = text.split(REFERENCES_MARK, 2)
  const [, after = ''] = rest.split(REFERENCES_END, 2)
  const rows = BY_REFERENCE.map(({ rights, gives }) => `| ${rightsText(rights)} | ${gives} |`)
  const table = ['| who may | also |', '| --- | --- |', ...rows].join('\n')
  return `${before}${REFERENCES_MARK}\n\n${table}\n\n${REFERENCES_END}${after}`
}
