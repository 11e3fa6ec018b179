import { readFileSync, writeFileSync } from 'node:fs'
import { renderErrorsPage } from '@parley/shared/errors-page'
import { renderEnvironmentPage } from './environment-page.ts'
import { openApiDocument } from './openapi/document.ts'
import { renderPermissionsPage } from './permissions-page.ts'

const errorsPage = new URL('errors.md', import.meta.url)
const environmentPage = new URL('environment.md', import.meta.url)
const permissionsPage = new URL('permissions.md', import.meta.url)
const openApi = new URL('openapi.json', import.meta.url)

writeFileSync(errorsPage, renderErrorsPage())
writeFileSync(environmentPage, renderEnvironmentPage())
writeFileSync(permissionsPage, renderPermissionsPage(readFileSync(permissionsPage, 'utf8')))
writeFileSync(openApi, `${JSON.stringify(openApiDocument(), null, 1)}\n`)
