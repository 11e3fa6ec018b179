import { type Access, decide } from '@parley/shared/permission/decide'
import { DEFAULT_ROLES } from '@parley/shared/permission/default-roles'
import { type Operation, operations } from './permission-operations.ts'

const WORKSPACE = 1
const MARK = '<!-- the table below is generated: npm run docs -->'

/** Whether one of the roles that every workspace begins with may do it, to some document at least. */
export function mayByDefault(role: string, { resource, access, path }: Operation): boolean {
  const permissions = DEFAULT_ROLES.find(({ name }) => name === role)?.permissions ?? []
  const account = { workspace: { _id: WORKSPACE } }
  const may = (wanted: Access) => decide({ permissions, resource, account, access: wanted }).kind !== 'none'
  // A document that may not be read is not there, and running messages again takes reading them.
  const takesReading = path.includes('{id}') || path.endsWith('/replay')
  return may(access) && (!takesReading || may('read'))
}

/** The page with its table written anew; what is above the table stays. */
export function renderPermissionsPage(page: string): string {
  const roles = DEFAULT_ROLES.map(({ name }) => name)
  const rows = operations.map((operation) => {
    const { method, path, resource, access } = operation
    const cells = roles.map((role) => (mayByDefault(role, operation) ? 'yes' : '–'))
    return `| \`${method} ${path}\` | ${access} \`${resource}\` | ${cells.join(' | ')} |`
  })
  const table = [
    `| operation | takes | ${roles.join(' | ')} |`,
    `| --- | --- | ${roles.map(() => '---').join(' | ')} |`,
    ...rows,
  ]
  return `${page.split(MARK, 1)[0]}${MARK}\n\n${table.join('\n')}\n`
}
