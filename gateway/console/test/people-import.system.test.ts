import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, expect, test } from '@jest/globals'
import type { Page } from 'playwright-core'
import { consoleSystem } from './console-system.ts'
import { signIn } from './pages.ts'

const system = consoleSystem()
const { onPage, open } = system
const IMPORTS = '**/rest/people/imports?*'
const MANY = 30_000
let directory: string

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'parley-import-'))
})

const nameOf = async (phone: string) => {
  const { json } = await system.parley.call('GET', `/rest/people/phone:${phone}`, {
    token: system.garden.token,
  })
  return (json as { name?: string }).name
}

/** Chooses a file in the dialog, and waits for its first rows. */
async function choose(page: Page, name: string, content?: string | Uint8Array) {
  const path = join(directory, name)
  if (content !== undefined) await writeFile(path, content)
  await open(page, '/people', '.empty, tbody')
  await page.getByRole('button', { name: 'Import a file' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('File').setInputFiles(path)
  return dialog
}

async function importNow(dialog: ReturnType<Page['getByRole']>): Promise<string[]> {
  await dialog.getByRole('button', { name: 'Import', exact: true }).click()
  await dialog.getByRole('button', { name: 'Done' }).waitFor({ timeout: 180_000 })
  return dialog.locator('dd').allTextContents()
}

test('files as spreadsheets write them are imported, whatever their encoding and their separator', async () => {
  await onPage({}, async (page) => {
    await signIn(page, system.url, system.garden)
    const excel = 'Telefone;Nome;Sapato\r\n+55 21 98888-0001;João Conceição;42\r\n'
    let dialog = await choose(page, 'excel.csv', Buffer.from(excel, 'latin1'))
    await dialog.getByText('read as Windows-1252').waitFor()
    await dialog.locator('td').getByText('João Conceição').waitFor()
    expect(
      await dialog
        .locator('thead select')
        .evaluateAll((all) => all.map((one) => (one as HTMLSelectElement).value)),
    ).toEqual(['phone', 'name', ''])
    expect(await importNow(dialog)).toEqual(['1', '1', '0', '0'])
    expect(await nameOf('5521988880001')).toBe('João Conceição')

    const unicode = '\uFEFFcontato\tnome\r\n5521988880002\tZoë\r\n'
    dialog = await choose(page, 'unicode.txt', Buffer.from(unicode, 'utf16le'))
    await dialog.getByText('Say which column has the phone numbers').waitFor()
    expect(await dialog.getByRole('button', { name: 'Import', exact: true }).isDisabled()).toBe(true)
    await dialog.getByLabel('Column contato is').selectOption({ label: 'Phone' })
    expect(await importNow(dialog)).toEqual(['1', '1', '0', '0'])
    expect(await nameOf('5521988880002')).toBe('Zoë')

    dialog = await choose(page, 'people.xlsx.csv', 'PK\u0003\u0004')
    await dialog.getByText('It is a workbook').waitFor()
  })
})

test('rows that are wrong are named with their lines and hinder no other; a number that comes twice counts once', async () => {
  await onPage({ acceptDownloads: true }, async (page) => {
    await signIn(page, system.url, system.garden)
    const rows = ['+55 21 97777-0001,Ana', '5.52198E+12,Bia', '5521977770001,Ana Prado', '21 97777-0002,Caio']
    const dialog = await choose(page, 'bom.csv', `\uFEFFphone,"given\nname"\n${rows.join('\n')}\n`)
    await dialog.getByLabel(/^Column given/).selectOption({ label: 'Name' })
    await dialog.getByLabel('Tags').fill('november')
    const counts = await importNow(dialog)
    expect(counts.slice(0, 2)).toEqual(['4', expect.any(String)])
    await dialog.getByText('Line 4:').waitFor()
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      dialog.getByRole('button', { name: 'Download what was refused' }).click(),
    ])
    expect(await readFile(await file.path(), 'utf8')).toMatch(
      /^"line","path","code","message"\r\n"4","\/addresses\/0"/,
    )
    expect(await nameOf('5521977770001')).toBe('Ana Prado')
    await dialog.getByRole('button', { name: 'Done' }).click()
    await page.getByLabel('Tag').fill('november')
    await page.locator('tbody').getByText('Ana Prado').waitFor()
  })
})

test('an import that broke off goes on where it was, after a failure and after the page was loaded again', async () => {
  const text = Array.from(
    { length: MANY },
    (_, at) => `55219${String(at).padStart(8, '0')},Imported number ${at} of the very many of this file`,
  )
  await onPage({}, async (page) => {
    await signIn(page, system.url, system.garden)
    let dialog = await choose(page, 'many.csv', `phone,name\n${text.join('\n')}\n`)
    let sent = 0
    await page.route(IMPORTS, (route) => (++sent > 1 ? route.abort() : route.continue()))
    await dialog.getByRole('button', { name: 'Import', exact: true }).click()
    await dialog.getByRole('button', { name: 'Go on' }).waitFor({ timeout: 120_000 })
    await page.unroute(IMPORTS)
    dialog = await choose(page, 'many.csv')
    await dialog.getByText('The last import broke off').waitFor()
    expect(await importNow(dialog)).toEqual(['30,000', '30,000', '0', '0'])
    expect(await nameOf('5521900029999')).toContain('Imported number 29999')
  })
})
