import { createRequire } from 'node:module'
import { describe, expect, test } from '@jest/globals'
import { NOTICE_TYPE } from '@parley/shared/channel-notice'
import { DOCUMENT_CHANGE_TYPE } from '@parley/shared/document-change'
import { MESSAGE_TYPE } from '@parley/shared/message'
import { STATUS_TYPE } from '@parley/shared/message-status'
import { TASK_SUBMISSION_TYPE } from '@parley/shared/task-submission'
import { asyncApi } from '@parley/webhook/asyncapi'
import { Ajv } from 'ajv'

const specification: object = createRequire(import.meta.url)('@asyncapi/specs/schemas/3.0.0.json')
// It brings the meta-schema of JSON Schema along.
const ajv = new Ajv({ strict: false, validateFormats: false, validateSchema: false, meta: false })
const validate = ajv.compile(specification)

/** The document as callers get it. */
const document = JSON.parse(JSON.stringify(asyncApi()))

describe('the AsyncAPI document', () => {
  test('is valid AsyncAPI 3.0', () => {
    validate(document)
    expect(validate.errors).toBeNull()
  })

  test('would be found wrong otherwise', () => {
    for (const wrong of [{ channels: [] }, { surprise: 1 }, { asyncapi: '2.0.0' }]) {
      expect(validate({ ...document, ...wrong })).toBe(false)
    }
  })

  test('describes every type of message that others may read, and refers to nothing that is not there', () => {
    const { messages } = document.components as { messages: Record<string, { name: string }> }
    const types = Object.values(messages).map(({ name }) => name)
    expect(types).toEqual([
      MESSAGE_TYPE,
      STATUS_TYPE,
      NOTICE_TYPE,
      DOCUMENT_CHANGE_TYPE,
      TASK_SUBMISSION_TYPE,
    ])
    for (const [, pointer = ''] of JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)) {
      const found = pointer.split('/').reduce((at, key) => at?.[key], document)
      expect([pointer, typeof found]).toEqual([pointer, 'object'])
    }
  })
})
