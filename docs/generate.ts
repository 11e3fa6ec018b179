import { readFileSync, writeFileSync } from 'node:fs'
import { renderErrorsPage } from '@parley/shared/errors-page'
import { renderPermissionsPage } from './permissions-page.ts'

const errorsPage = new URL('errors.md', import.meta.url)
const permissionsPage = new URL('permissions.md', import.meta.url)

writeFileSync(errorsPage, renderErrorsPage())
writeFileSync(permissionsPage, renderPermissionsPage(readFileSync(permissionsPage, 'utf8')))
