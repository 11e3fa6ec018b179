import { defined } from '../../defined.ts'
import type { Standing, StandingRules } from '../outbound.ts'
import { own, textAt } from '../own.ts'
import { get } from './api.ts'

/** People to whom a portfolio may write first in 24 hours (Cloud API, messaging limits). */
const PEOPLE_A_DAY: Readonly<Record<string, number | null>> = {
  TIER_50: 50,
  TIER_250: 250,
  TIER_1K: 1_000,
  TIER_2K: 2_000,
  TIER_10K: 10_000,
  TIER_100K: 100_000,
  TIER_UNLIMITED: null,
}
/** The account or its number may not send, whatever it sends. */
const RESTRICTED = ['368', '131031', '131042', '131045', '131048', '133010', '130497']
const ACCOUNT_EVENTS = ['ACCOUNT_RESTRICTION', 'ACCOUNT_DELETED', 'DISABLED_UPDATE', 'ACCOUNT_VIOLATION']

/** The rules by which Meta's notices and refusals decide if a number and a template may go on being sent. */
export const standing: StandingRules = {
  ofCode(code) {
    if (code === '132015') return 'template_paused'
    if (code === '132016') return 'template_disabled'
    return RESTRICTED.includes(code) ? 'account_restricted' : undefined
  },
  ofNotice: (field, value) => NOTICES[field]?.(value),
  ofNumber: (found) =>
    defined({
      isQualityLow: textAt(found, 'quality_rating') === 'RED',
      peopleADay: peopleIn(
        textAt(found, 'whatsapp_business_manager_messaging_limit') ?? textAt(found, 'messaging_limit_tier'),
      ),
    }),
  // The limit is the portfolio's, whichever of its accounts writes.
  owner: {
    request: (settings) =>
      settings.businessAccountId === undefined
        ? undefined
        : get(settings, `${encodeURIComponent(settings.businessAccountId)}?fields=owner_business_info`),
    read: (found) => textAt(found, 'owner_business_info', 'id'),
  },
}

const NOTICES: Readonly<Record<string, (value: unknown) => Standing | undefined>> = {
  message_template_status_update: (value) => templateIn(value, { status: textAt(value, 'event') }),
  message_template_quality_update: (value) =>
    templateIn(value, { quality: textAt(value, 'new_quality_score') }),
  phone_number_quality_update: (value) => {
    const event = textAt(value, 'event')
    const people = peopleIn(
      textAt(value, 'max_daily_conversations_per_business') ?? textAt(value, 'current_limit'),
    )
    return {
      ...((event === 'FLAGGED' || event === 'DOWNGRADE') && { isQualityLow: true }),
      ...((event === 'UNFLAGGED' || event === 'UPGRADE') && { isQualityLow: false }),
      ...(people !== undefined && { peopleADay: people }),
    }
  },
  business_capability_update: (value) => {
    const most =
      own(value, 'max_daily_conversations_per_business') ?? own(value, 'max_daily_conversation_per_phone')
    if (typeof most === 'number') return { peopleADay: most < 0 ? null : most }
    const people = typeof most === 'string' ? peopleIn(most) : undefined
    return people === undefined ? undefined : { peopleADay: people }
  },
  account_update: (value) =>
    ACCOUNT_EVENTS.includes(textAt(value, 'event') ?? '') ? { isRestricted: true } : undefined,
}

function templateIn(
  value: unknown,
  change: { status?: string | undefined; quality?: string | undefined },
): Standing | undefined {
  const name = textAt(value, 'message_template_name')
  const language = textAt(value, 'message_template_language')
  return name === undefined || language === undefined
    ? undefined
    : { template: { name, language, ...change } }
}

/** Null where there is no limit; undefined where it is not said. */
function peopleIn(tier: string | undefined): number | null | undefined {
  return tier !== undefined && Object.hasOwn(PEOPLE_A_DAY, tier) ? PEOPLE_A_DAY[tier] : undefined
}
