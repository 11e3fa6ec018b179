import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { renderErrorsPage } from '@parley/shared/errors'
import { allProviders } from '@parley/shared/providers/registry'
import { renderEnvironmentPage } from './environment-page.ts'
import { renderMessageCodes } from './message-codes.ts'
import { writeCatalogues } from './messages.ts'
import { renderPermissionsPage } from './permissions-page.ts'
import { withRules } from './rules-table.ts'
import { renderTimesPage } from './times-page.ts'

const architecturePage = new URL('architecture.md', import.meta.url)
const errorsPage = new URL('errors.md', import.meta.url)
const environmentPage = new URL('environment.md', import.meta.url)
const permissionsPage = new URL('permissions.md', import.meta.url)
const timesPage = new URL('times.md', import.meta.url)

writeFileSync(architecturePage, withRules(readFileSync(architecturePage, 'utf8')))
writeFileSync(errorsPage, renderErrorsPage() + renderMessageCodes())
writeFileSync(environmentPage, renderEnvironmentPage())
writeFileSync(permissionsPage, renderPermissionsPage(readFileSync(permissionsPage, 'utf8')))
writeFileSync(timesPage, renderTimesPage())

for (const { name } of allProviders()) {
  const page = new URL(`../shared/src/providers/${name}/page.ts`, import.meta.url)
  if (!existsSync(page)) continue
  const { renderPage } = await import(page.href)
  writeFileSync(new URL(`${name}.md`, import.meta.url), renderPage())
}

await writeCatalogues()
