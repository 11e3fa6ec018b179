import { z } from 'zod'

/** A template that was approved: in any language where none is named, with so many parameters in its body. */
export const knownTemplate = z.strictObject({
  name: z.string().min(1).max(512),
  languages: z.array(z.string().min(2).max(16)).min(1).max(100).optional(),
  parameters: z.int().min(0).max(100),
  /** The category, and thereby the price; `UTILITY` where it is left out. */
  category: z.enum(['MARKETING', 'UTILITY', 'AUTHENTICATION']).optional(),
  /** The names of its parameters, where they have names. */
  names: z.array(z.string().min(1).max(64)).max(100).optional(),
  /** The kind of its header. */
  header: z.enum(['text', 'image', 'video', 'document', 'location']).optional(),
  /** The buttons that take a parameter, by what they do. */
  buttons: z
    .array(z.strictObject({ index: z.int().min(0).max(9), type: z.enum(['url', 'copy_code']) }))
    .max(10)
    .optional(),
})
export type KnownTemplate = z.output<typeof knownTemplate>
