import { z } from 'zod'
import { type ErrorCode, errors, problemType } from '../errors.ts'

const fieldError = z.looseObject({
  path: z.string().describe('A JSON Pointer into the body, or the name of a parameter'),
  code: z.string(),
  message: z.string(),
})

/** Every error as callers get it (RFC 9457). */
export const problemSchema = z
  .looseObject({
    type: z.string().describe('Where the gateway explains the code: `/docs/errors/` and the code'),
    title: z.string(),
    status: z.number().int(),
    detail: z.string().optional(),
    instance: z.string().describe('The path that was asked for'),
    code: z.enum(Object.keys(errors) as [ErrorCode, ...ErrorCode[]]).describe('Never changes; decide by it'),
    requestId: z.string(),
    errors: z
      .array(fieldError)
      .max(100)
      .optional()
      .describe('What is wrong with the request, each error with its place; long texts are cut'),
    errorsTotal: z.number().int().optional().describe('How many errors there are, where not all are listed'),
  })
  .describe('An error as RFC 9457 has it')

/** What a caller would get of an error, at a path. */
export function problemExample(code: ErrorCode, instance: string): z.input<typeof problemSchema> {
  const { status, title } = errors[code]
  return {
    type: problemType(code),
    title,
    status,
    instance,
    code,
    requestId: '1dbd2714-f645-43f5-8c44-7acf7b239106',
    ...(code === 'validation_failed'
      ? { errors: [{ path: '/name', code: 'invalid_type', message: 'expected string, received number' }] }
      : {}),
  }
}
