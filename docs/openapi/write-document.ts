// Writes docs/openapi.json, which the gateway serves: node docs/openapi/write-document.ts
import { renameSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { openApiDocument } from './document.ts'

const FILE = fileURLToPath(new URL('../openapi.json', import.meta.url))

// Whoever reads it meanwhile has the one before.
writeFileSync(`${FILE}.${process.pid}`, `${JSON.stringify(openApiDocument(), null, 1)}\n`)
renameSync(`${FILE}.${process.pid}`, FILE)
