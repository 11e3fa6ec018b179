import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { lockDirectory } from '@parley/local/run-local'
import { choosePorts } from '@parley/local/servers/choose-ports'
import { SetupError } from '@parley/local/setup-error'
import { loadSecrets } from '@parley/local/system/secrets'
import { freshDirectory } from '@parley/local/testing/test-servers'

const newFile = (name: string) => join(freshDirectory('state'), name)

describe('the lock of a folder', () => {
  test('is owned by one process at a time', () => {
    const directory = freshDirectory('lock')
    const unlock = lockDirectory(directory)
    expect(() => lockDirectory(directory)).toThrow(SetupError)
    expect(() => lockDirectory(directory)).toThrow(`process ${process.pid}`)
    unlock()
    expect(() => lockDirectory(directory)).not.toThrow()
  })

  test.each([
    ['whose process id is another process by now', { pid: process.pid, started: '1' }],
    ['whose process is gone', { pid: 2 ** 30, started: '1' }],
    ['that is damaged', 'no lock at all'],
  ])('%s is taken over', (_, content) => {
    const directory = freshDirectory('lock')
    writeFileSync(join(directory, 'lock.json'), JSON.stringify(content))
    lockDirectory(directory)
    expect(JSON.parse(readFileSync(join(directory, 'lock.json'), 'utf8')).pid).toBe(process.pid)
  })
})

describe('ports', () => {
  const names = ['one', 'two'] as const

  test('are remembered', async () => {
    const file = newFile('ports.json')
    const said: string[] = []
    const choose = () => choosePorts({ file, names, say: (line) => said.push(line) })
    const first = await choose()
    expect(first.one).not.toBe(first.two)
    expect(await choose()).toEqual(first)
    expect(said).toEqual([])
  })

  test('are not the one of somebody who does not listen on it yet', async () => {
    const file = newFile('ports.json')
    const say = () => undefined
    const { one: except } = await choosePorts({ file, names, say })
    const chosen = await choosePorts({ file, names, except, say })
    expect(Object.values(chosen)).not.toContain(except)
  })

  test('that another process uses are replaced, and that is printed', async () => {
    const file = newFile('ports.json')
    const said: string[] = []
    const choose = () => choosePorts({ file, names, say: (line) => said.push(line) })
    const first = await choose()
    const squatter = createServer()
    await new Promise<void>((resolve) => squatter.listen(first.one, '127.0.0.1', resolve))
    const second = await choose()
    await new Promise((resolve) => squatter.close(resolve))
    expect(second.one).not.toBe(first.one)
    expect(second.two).toBe(first.two)
    expect(said).toEqual([expect.stringContaining(`Port ${first.one} of one is taken`)])
    expect(await choose()).toEqual(second)
  })

  test('are chosen again when the file is damaged', async () => {
    const file = newFile('ports.json')
    writeFileSync(file, '{')
    await expect(choosePorts({ file, names, say: () => undefined })).resolves.toMatchObject({
      one: expect.any(Number),
    })
  })
})

describe('secrets', () => {
  test('are made once, readable by this user only', () => {
    const file = newFile('secrets.json')
    const made = loadSecrets(file)
    expect(loadSecrets(file)).toEqual(made)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(loadSecrets(newFile('secrets.json'))).not.toEqual(made)
  })

  test('of an earlier version stay, and missing ones are added', () => {
    const file = newFile('secrets.json')
    const { secretKeys: _, ...made } = loadSecrets(file)
    const { campaigns: _key, ...serviceKeys } = made.serviceKeys
    const earlier = { ...made, serviceKeys }
    writeFileSync(file, JSON.stringify(earlier))
    const now = loadSecrets(file)
    expect(now).toMatchObject(earlier)
    expect(now.serviceKeys.campaigns.kid).toBe('campaigns')
    expect(loadSecrets(file)).toEqual(now)
  })

  test.each(['', '{', '{}', '[]', '{"peppers":1}'])('that are damaged (%j) are not overwritten', (text) => {
    const file = newFile('secrets.json')
    writeFileSync(file, text)
    expect(() => loadSecrets(file)).toThrow(SetupError)
    expect(existsSync(file) && readFileSync(file, 'utf8')).toBe(text)
  })
})
