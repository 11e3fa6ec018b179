// Writes the types of the client, by which it is checked: node docs/openapi/write-types.ts
import { writeFileSync } from 'node:fs'
import { clientTypes } from '@parley/local/client-types'
import { openApiDocument } from './document.ts'

const FILE = new URL('../../shared/client/src/api-types.ts', import.meta.url)

writeFileSync(FILE, await clientTypes(JSON.parse(JSON.stringify(openApiDocument()))))
