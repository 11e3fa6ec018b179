import { readFileSync, writeFileSync } from 'node:fs'
import { renderErrorsPage } from '@parley/shared/errors'
import { renderEnvironmentPage } from './environment-page.ts'
import { renderPermissionsPage } from './permissions-page.ts'
import { renderTimesPage } from './times-page.ts'

const errorsPage = new URL('errors.md', import.meta.url)
const environmentPage = new URL('environment.md', import.meta.url)
const permissionsPage = new URL('permissions.md', import.meta.url)
const timesPage = new URL('times.md', import.meta.url)

writeFileSync(errorsPage, renderErrorsPage())
writeFileSync(environmentPage, renderEnvironmentPage())
writeFileSync(permissionsPage, renderPermissionsPage(readFileSync(permissionsPage, 'utf8')))
writeFileSync(timesPage, renderTimesPage())
