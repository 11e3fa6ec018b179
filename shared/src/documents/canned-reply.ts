import type { z } from 'zod'
import { documentOf } from './fields.ts'

/** A text that the team replies with, by a short name. */
export const cannedReplyDocument = documentOf(({ text }) => ({
  name: text.describe('What it is found by'),
  text: text.describe('`{{name}}` is the name of the person, `{{me}}` that of who replies'),
}))

export type CannedReply = z.output<typeof cannedReplyDocument.stored>
