import { readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { countTools } from './count-tools.ts'

// Swagger's own, of github.com/swagger-api/swagger-petstore, Apache 2.0.
const text = readFileSync(new URL('petstore.yaml', import.meta.url), 'utf8')

test('each operation of the Petstore as it is published is a tool', () => {
  expect(countTools(text)).toEqual({ operations: 19, tools: 19, others: new Map() })
})
