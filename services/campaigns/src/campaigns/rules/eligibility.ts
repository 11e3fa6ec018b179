import { isInHoldout } from './holdout.ts'
import { type CampaignVariables, fillVariables, type PersonFields } from './variables.ts'

/** Why somebody gets no message, as far as it follows from who they are. */
type Ineligible = 'no_address' | 'opted_out' | 'no_consent' | 'holdout' | 'missing_variable'

/** The purposes of messages that a person may have consented to. */
export type ConsentPurpose = 'marketing' | 'service'

interface Recipient extends PersonFields {
  _id: string
  consent: Readonly<Partial<Record<ConsentPurpose, { status: 'granted' | 'withdrawn' }>>>
}

/** The purpose of a template by its category: what is not known to be no marketing counts as that. */
export const purposeOf = (category: string | undefined): ConsentPurpose =>
  category === undefined || category.toUpperCase() === 'MARKETING' ? 'marketing' : 'service'

/**
 * Why a person is left out; undefined for one who is written to. The holdout is drawn from those who could be written to, so
 * that it can be compared with them.
 */
export function ineligible(
  person: Recipient,
  campaign: {
    _id: string
    purpose: ConsentPurpose
    variables: CampaignVariables
    requiresConsent: boolean
    holdoutPercent: number
    hasAddress(person: Recipient): boolean
  },
): Ineligible | undefined {
  const consent = person.consent[campaign.purpose]?.status
  if (!campaign.hasAddress(person)) return 'no_address'
  if (consent === 'withdrawn') return 'opted_out'
  if (campaign.requiresConsent && consent !== 'granted') return 'no_consent'
  if (fillVariables(campaign.variables, person).kind === 'missing') return 'missing_variable'
  return isInHoldout(campaign._id, person._id, campaign.holdoutPercent) ? 'holdout' : undefined
}
