import { defined } from '@parley/shared/defined'
import { LANGUAGES } from '@parley/shared/languages'
import { z } from 'zod'

const flag = z.boolean()
const fields = {
  sound: flag.describe('Two short tones'),
  desktop: flag.describe('By the system, where the browser allows it'),
  messages: flag.describe('What people write to the team'),
  handOvers: flag.describe('What an assistant hands over'),
  assignments: flag.describe('What is assigned to the account or a team of theirs'),
  onlyOwn: flag.describe('Nothing of what is assigned to others'),
}
const USUAL = {
  ...{ sound: false, desktop: false },
  ...{ messages: true, handOvers: true, assignments: true, onlyOwn: false },
}

const language = z
  .enum(LANGUAGES.map(({ tag }) => tag))
  .nullable()
  .describe('Of the console; null where it is the one of each browser')

/** The settings that a user has chosen. No rule of a role sees them. */
export const preferencesSchema = z
  .object({
    language,
    notices: z
      .object(fields)
      .meta({ id: 'NoticePreferences', description: 'Of what the console notifies the user, and how' }),
  })
  .meta({ id: 'Preferences', description: 'What users set for themselves' })

/** A change of them: what is left out stays. */
export const preferencesChange = z.strictObject({
  language: language.optional(),
  notices: z.strictObject(fields).partial().optional(),
})

/** As they are stored: what was changed only. */
export type StoredPreferences = z.output<typeof preferencesChange>

/** All of them. */
export const preferencesOf = (stored: StoredPreferences = {}): z.output<typeof preferencesSchema> => ({
  language: stored.language ?? null,
  notices: { ...USUAL, ...defined(stored.notices ?? {}) },
})
