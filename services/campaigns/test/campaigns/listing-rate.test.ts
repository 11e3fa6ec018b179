import { expect, test } from '@jest/globals'
import { listingRate } from '@parley/campaigns/campaigns/run/list-audience'

test('an audience is listed ahead of what is sent, faster while too few are due, and never at any rate', () => {
  expect(listingRate({ perSecond: 5, isShort: false })).toBe(100)
  expect(listingRate({ perSecond: 64, isShort: false })).toBe(192)
  expect(listingRate({ perSecond: 64, isShort: true })).toBe(1_000)
  expect(listingRate({ perSecond: 800, isShort: false })).toBe(2_400)
  expect(listingRate({ perSecond: 1_000, isShort: true })).toBe(2_500)
})
