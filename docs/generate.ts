import { writeFileSync } from 'node:fs'
import { renderErrorsPage } from '@parley/shared/errors-page'

writeFileSync(new URL('errors.md', import.meta.url), renderErrorsPage())
