import { readFileSync, writeFileSync } from 'node:fs'
import { clientTypes } from '@parley/local/testing/client-types'
import { renderErrorsPage } from '@parley/shared/errors'
import { renderEnvironmentPage } from './environment-page.ts'
import { openApiDocument } from './openapi/document.ts'
import { renderPermissionsPage } from './permissions-page.ts'

const errorsPage = new URL('errors.md', import.meta.url)
const environmentPage = new URL('environment.md', import.meta.url)
const permissionsPage = new URL('permissions.md', import.meta.url)
const openApi = new URL('openapi.json', import.meta.url)
const types = new URL('../shared/client/src/api-types.ts', import.meta.url)

writeFileSync(errorsPage, renderErrorsPage())
writeFileSync(environmentPage, renderEnvironmentPage())
writeFileSync(permissionsPage, renderPermissionsPage(readFileSync(permissionsPage, 'utf8')))
const document = openApiDocument()
writeFileSync(openApi, `${JSON.stringify(document, null, 1)}\n`)
writeFileSync(types, await clientTypes(document))
