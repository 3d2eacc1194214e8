// Opens files that kprof-top wrote in a headless browser, pages directly, others with speedscope: read_stacks.mjs NODE_MODULES CHROMIUM FILE...
// Prints a JSON object: for a page (.html, .svg) what it showed and did, else speedscope's profiles.
import {createRequire} from 'node:module';
import fs from 'node:fs';
import path from 'node:path';
import {pathToFileURL} from 'node:url';

const [modules, chromium, ...files] = process.argv.slice(2);
const require = createRequire(path.join(modules, 'x.js'));
const speedscope = pathToFileURL(path.join(modules, 'speedscope/dist/release/index.html')).href;
const browser = await require('playwright-core').chromium.launch({executablePath: chromium,
  args: ['--no-sandbox', '--allow-file-access-from-files', '--disable-gpu']});

async function open(url, options = {}) {
  const page = await browser.newPage({acceptDownloads: true, viewport: {width: 1200, height: 700}, ...options});
  const seen = {errors: [], requests: []};
  page.on('pageerror', e => seen.errors.push(String(e)));
  page.on('console', m => m.type() === 'error' && seen.errors.push(m.text()));
  page.on('dialog', d => { seen.errors.push('dialog: ' + d.message()); d.dismiss(); });
  page.on('request', r => { if (r.url() !== url) seen.requests.push(r.url()); });
  await page.goto(url);
  return [page, seen];
}

async function by_speedscope(file) {
  const [page, seen] = await open(speedscope);
  await page.setInputFiles('input[type=file]', file);
  await page.waitForFunction(() => document.title.endsWith('speedscope') && !document.querySelector('input[type=file]') ||
    document.querySelector('canvas'));
  // What was read is asked for again until it is there: ^S writes it in speedscope's own form.
  for (let i = 0; i < 40; i++) {
    const download = page.waitForEvent('download', {timeout: 1500}).catch(() => null);
    await page.keyboard.press('Control+s');
    const d = await download;
    if (!d) continue;
    const all = JSON.parse(fs.readFileSync(await d.path(), 'utf8'));
    await page.close();
    return {errors: seen.errors, frames: all.shared.frames.map(f => f.name),
            profiles: all.profiles.map(p => ({name: p.name, unit: p.unit, total: p.endValue - p.startValue}))};
  }
  throw new Error('speedscope did not read ' + file + ': ' + (await page.innerText('body')));
}

async function page_of(file) {
  const [page, seen] = await open(pathToFileURL(file).href, {colorScheme: 'dark'});
  await page.waitForSelector('.f');
  const shown = () => page.$$eval('.f', all => all.map(e => ({name: e.getAttribute('title').split('\n')[0],
    total: Number(e.getAttribute('data-total')), width: e.getBoundingClientRect().width, hit: e.classList.contains('hit')})));
  const out = {first: await shown(), theme: await page.getAttribute('#kprof', 'data-theme')};
  const options = label => page.$$eval(`select[aria-label=${label}] option`, all => all.map(o => o.textContent));
  out.widths = await options('Width');
  out.groups = await options('Group');
  out.title = await page.innerText('h1');
  await page.fill('input[type=search]', 'burner:f');
  out.searched = await shown();
  out.status = await page.innerText('.status');
  await page.fill('input[type=search]', '(');       // no regular expression: taken as it is
  await page.fill('input[type=search]', '');
  if (await page.$('.f[title^="burner:g/1"]')) {
    await page.click('.f[title^="burner:g/1"]');
    out.zoomed = await shown();
    await page.keyboard.press('Escape');
    out.back = await shown();
  }
  await page.selectOption('select[aria-label=Group]', {label: 'group: identity'});
  out.identity = await shown();
  await page.selectOption('select[aria-label=Width]', {label: 'width: growth of bin_vheap_size'});
  out.binaries = await shown();
  await page.click('text=light / dark');
  out.other_theme = await page.getAttribute('#kprof', 'data-theme');
  await page.click('text=flame / icicle');
  await page.close();
  return {...out, ...seen};
}

const result = {};
for (const file of files)
  result[path.basename(file)] = await (/\.(html|svg)$/.test(file) ? page_of : by_speedscope)(file);
await browser.close();
console.log(JSON.stringify(result));
