import { describe, expect, test } from '@jest/globals'
import { configSettings } from '@parley/shared/config-settings'
import fc from 'fast-check'
import { problemOfJson, unsetOf, withSetting } from '../src/json/json-check.ts'

const MODEL = configSettings({ name: 'model', ownerType: 'assistant' }) ?? {}
const ACTION = configSettings({ name: 'settings', ownerType: 'action' }) ?? {}

describe('what is wrong with JSON as it is typed', () => {
  test.each([
    ['{', /^It is not JSON: /],
    ['[1]', /^It has to be an object, in braces\.$/],
    ['{"provider": "open-ai"}', /^provider has to be one of openai, /],
    ['{"modle": "x"}', /^Nothing reads modle\. Is model meant\?$/],
    ['{"maxOutputTokens": "many"}', /^maxOutputTokens has to be a number\.$/],
    ['{"maxOutputTokens": 1.5}', /^maxOutputTokens has to be a number\.$/],
    ['{"vision": "yes"}', /^vision has to be true or false\.$/],
    ['{"model": 5}', /^model has to be a text\.$/],
    ['{"fallbacks": {}}', /^fallbacks has to be a list\.$/],
  ])('%s', (text, problem) => expect(problemOfJson(text, { known: MODEL })).toMatch(problem))

  test('bounds are said', () => {
    const problem = problemOfJson('{"timeoutSeconds": 600}', { known: ACTION })
    expect(problem).toBe('timeoutSeconds has to be a number of 1 to 120.')
  })

  test('nothing of a list, of what is right, of names that are like none, and of what is free-form', () => {
    expect(problemOfJson('[{}]', { isList: true })).toBeUndefined()
    expect(problemOfJson('{}', { isList: true })).toMatch(/list/)
    const right = '{"provider": "openai", "model": "x", "of my own": {"modle": 1}}'
    expect(problemOfJson(right, { known: MODEL })).toBeUndefined()
    expect(problemOfJson('{"modle": 1}')).toBeUndefined()
  })
})

test('every setting that is offered can be added: it is right, stays what else is there, and its value is what is selected', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 4 }), (before) => {
      const text = JSON.stringify(before)
      for (const name of unsetOf(text, MODEL)) {
        const next = withSetting(text, name, MODEL[name] ?? {})
        const { [name]: value, ...others } = JSON.parse(next.text)
        expect(others).toEqual(JSON.parse(text))
        expect(JSON.parse(next.text.slice(next.from, next.to))).toEqual(value)
        expect(unsetOf(next.text, MODEL)).not.toContain(name)
        expect(problemOfJson(JSON.stringify({ [name]: value }), { known: MODEL })).toBeUndefined()
      }
    }),
  )
})

test('what is no object has nothing to add', () => {
  for (const text of ['', '{', '[]', 'null', '3']) expect(unsetOf(text, MODEL)).toEqual([])
})
