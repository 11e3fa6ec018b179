import { describe, expect, test } from '@jest/globals'
import { addressOf, versionWarning } from '@parley/shared/providers/whatsapp/api'
import { rates } from '@parley/shared/providers/whatsapp/rates'
import { standing } from '@parley/shared/providers/whatsapp/standing'

const META = 'https://graph.facebook.com'

describe('the version of the API', () => {
  test.each([
    ['is that of today', {}, `${META}/v26.0/7`],
    ['is that of the address', { apiUrl: `${META}/v23.0/` }, `${META}/v23.0/7`],
    ['is another in its place', { apiUrl: `${META}/v23.0`, apiVersion: 'v24.0' }, `${META}/v24.0/7`],
    [
      'is put behind the address',
      { apiUrl: 'http://127.0.0.1:9', apiVersion: 'v24.0' },
      'http://127.0.0.1:9/v24.0/7',
    ],
    ['is none where the address has none', { apiUrl: 'http://127.0.0.1:9' }, 'http://127.0.0.1:9/7'],
    ['is one part of the path', { apiVersion: '../x' }, `${META}/..%2Fx/7`],
  ])('%s', (_name, settings, url) => {
    expect(addressOf(settings, '7')).toBe(url)
  })

  test.each([
    ['of today does not end soon', {}, '2026-11-27', undefined],
    [
      'ends in two months',
      { apiVersion: 'v21.0' },
      '2026-11-27',
      'v21.0 of the Graph API ends on 2027-01-21',
    ],
    [
      'ends in half a year',
      { apiUrl: `${META}/v22.0` },
      '2026-11-27',
      'v22.0 of the Graph API ends on 2027-05-20',
    ],
    ['ends later', { apiUrl: `${META}/v23.0` }, '2026-11-27', undefined],
    ['ended', { apiUrl: `${META}/v20.0` }, '2026-11-27', 'v20.0 of the Graph API ended on 2026-09-24'],
    ['is not known yet', { apiVersion: 'v99.0' }, '2040-01-01', undefined],
    ['is not in an address of its own', { apiUrl: 'http://127.0.0.1:9' }, '2040-01-01', undefined],
  ])('%s', (_name, settings, today, said) => {
    const warning = versionWarning(settings, new Date(today))
    expect(said === undefined ? warning : (warning ?? '').includes(said)).toBe(
      said === undefined ? undefined : true,
    )
  })
})

describe('the rate of a number', () => {
  test.each([
    ['of a usual one', { throughput: { level: 'STANDARD' }, is_on_biz_app: false }, 80],
    ['of one with a higher throughput', { throughput: { level: 'HIGH' }, platform_type: 'CLOUD_API' }, 1_000],
    [
      'of one that the app has, too',
      { throughput: { level: 'STANDARD' }, is_on_biz_app: true, platform_type: 'CLOUD_API' },
      20,
    ],
    ['of one that is not registered', { throughput: { level: 'NOT_APPLICABLE' } }, undefined],
    ['of one without the field', { id: '7' }, undefined],
  ])('is what its provider says %s', (_name, body, perSecond) => {
    const response = { status: 200, headers: {}, body: JSON.stringify(body) }
    expect(rates.lookup?.read(response)).toBe(perSecond)
    expect(rates.lookup?.read({ ...response, status: 400 })).toBeUndefined()
  })

  test.each([
    [{}, 'v26.0', 'whatsapp_business_manager_messaging_limit'],
    [{ apiVersion: 'v24.0' }, 'v24.0', 'whatsapp_business_manager_messaging_limit'],
    [{ apiUrl: `${META}/v23.0` }, 'v23.0', 'messaging_limit_tier'],
  ])('is asked for with the token of the channel, and by its version: %j', (more, version, limit) => {
    expect(rates.lookup?.request({ phoneNumberId: '7', accessToken: 'a', ...more })).toEqual({
      method: 'GET',
      url: `${META}/${version}/7?fields=throughput,is_on_biz_app,platform_type,quality_rating,${limit}`,
      headers: { authorization: 'Bearer a' },
    })
  })
})

describe('the standing of a number', () => {
  test.each([
    [{ whatsapp_business_manager_messaging_limit: 'TIER_2K' }, { isQualityLow: false, peopleADay: 2_000 }],
    [
      { messaging_limit_tier: 'TIER_250', quality_rating: 'RED' },
      { isQualityLow: true, peopleADay: 250 },
    ],
    [
      { whatsapp_business_manager_messaging_limit: 'TIER_UNLIMITED', messaging_limit_tier: null },
      { isQualityLow: false, peopleADay: null },
    ],
    [{ whatsapp_business_manager_messaging_limit: 'TIER_NEW' }, { isQualityLow: false }],
  ])('is what its provider says: %j', (found, expected) => {
    expect(standing.ofNumber(found)).toEqual(expected)
  })

  test.each([
    [{ max_daily_conversations_per_business: 'TIER_2K' }, { peopleADay: 2_000 }],
    [{ max_daily_conversations_per_business: 'TIER_UNLIMITED' }, { peopleADay: null }],
    [{ max_daily_conversations_per_business: 'TIER_NEW' }, undefined],
    [{ max_daily_conversation_per_phone: -1 }, { peopleADay: null }],
  ])('changes by a notice, where that is understood: %j', (value, expected) => {
    expect(standing.ofNotice('business_capability_update', value)).toEqual(expected)
  })

  test('its limit is that of the portfolio which owns its account', () => {
    expect(standing.owner?.request({ phoneNumberId: '7', accessToken: 'a' })).toBeUndefined()
    expect(standing.owner?.request({ businessAccountId: '8', accessToken: 'a' })?.url).toBe(
      `${META}/v26.0/8?fields=owner_business_info`,
    )
    expect(standing.owner?.read({ owner_business_info: { id: '9', name: 'Acme' } })).toBe('9')
    expect(standing.owner?.read({ error: { code: 100 } })).toBeUndefined()
  })
})
