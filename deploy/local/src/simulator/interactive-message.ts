import { z } from 'zod'

const text = (most: number) =>
  z
    .string()
    .min(1)
    .refine((value) => [...value].length <= most, `has more than ${most} characters`)
const link = z.url({ protocol: /^https?$/ })
const media = z.union([z.strictObject({ link }), z.strictObject({ id: text(256) })])
const captioned = z.looseObject({
  link: link.optional(),
  id: text(256).optional(),
  caption: text(1_024).optional(),
})

const header = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text'), text: text(60) }),
  z.strictObject({ type: z.literal('image'), image: media }),
  z.strictObject({ type: z.literal('video'), video: media }),
  z.strictObject({ type: z.literal('document'), document: z.looseObject({}) }),
])
const around = { footer: z.strictObject({ text: text(60) }).optional() }
const row = z.strictObject({ id: text(200), title: text(24), description: text(72).optional() })

/** A message that a person chooses from. */
const interactive = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('button'),
    header: header.optional(),
    body: z.strictObject({ text: text(1_024) }),
    ...around,
    action: z.strictObject({
      buttons: z
        .array(
          z.strictObject({
            type: z.literal('reply'),
            reply: z.strictObject({ id: text(256), title: text(20) }),
          }),
        )
        .min(1)
        .max(3),
    }),
  }),
  z.strictObject({
    type: z.literal('list'),
    header: z.strictObject({ type: z.literal('text'), text: text(60) }).optional(),
    body: z.strictObject({ text: text(4_096) }),
    ...around,
    action: z
      .strictObject({
        button: text(20),
        sections: z.array(z.strictObject({ title: text(24).optional(), rows: z.array(row).min(1) })).max(10),
      })
      .refine(({ sections }) => sections.flatMap(({ rows }) => rows).length <= 10, 'more than 10 rows'),
  }),
  z.strictObject({
    type: z.literal('cta_url'),
    header: header.optional(),
    body: z.strictObject({ text: text(1_024) }),
    ...around,
    action: z.strictObject({
      name: z.literal('cta_url'),
      parameters: z.strictObject({ display_text: text(20), url: link }),
    }),
  }),
])

/** Contents beside texts and templates, by their type. */
export const CONTENTS = {
  interactive,
  image: captioned,
  video: captioned,
  document: captioned.extend({ filename: text(256).optional() }),
  audio: media,
  sticker: media,
  location: z.strictObject({
    latitude: z.number(),
    longitude: z.number(),
    name: text(1_024).optional(),
    address: text(1_024).optional(),
  }),
  contacts: z.array(z.looseObject({})).min(1),
  reaction: z.looseObject({ message_id: text(512), emoji: z.string() }),
}
