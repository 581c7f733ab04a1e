import { expect, test } from 'vitest'
import { LoginAttempts } from './login-attempts.ts'

const never = (): boolean => false

function attempts(burst: number) {
  return new LoginAttempts(burst, () => 0)
}

test('login attempts: while all tokens are reserved others wait, and wrong credentials turn them away', async () => {
  const made = attempts(2)
  const first = (await made.begin('a', never))!
  const second = (await made.begin('a', never))!
  const third = made.begin('a', never)
  first('wrong')
  second('wrong')
  await expect(third).rejects.toMatchObject({ code: 'rate_limited', retryAfterMs: 1000 })
})

test('login attempts: a credential that is not wrong gives its token to the next attempt', async () => {
  const made = attempts(1)
  const order: number[] = []
  const all = [1, 2, 3].map(async (name) => {
    const end = (await made.begin('a', never))!
    order.push(name)
    await Promise.resolve()
    end('not wrong')
  })
  await Promise.all(all)
  expect(order).toEqual([1, 2, 3])
})

test('login attempts: a waiting attempt continues without a token once its credential is known', async () => {
  const made = attempts(1)
  const known = { yes: false }
  const first = (await made.begin('a', never))!
  const second = made.begin('a', () => known.yes)
  known.yes = true
  first('wrong')
  expect(await second).toBeUndefined()
})

test('login attempts: networks are independent', async () => {
  const made = attempts(1)
  await made.begin('a', never)
  expect(await made.begin('b', never)).toBeDefined()
})

test('login attempts: the number of waiting attempts of a network is limited', async () => {
  const made = attempts(1)
  const first = (await made.begin('a', never))!
  const waiting = Array.from({ length: 1000 }, () => made.begin('a', never).catch(() => 'refused'))
  await expect(made.begin('a', never)).rejects.toMatchObject({ code: 'rate_limited' })
  first('wrong')
  expect(new Set(await Promise.all(waiting))).toEqual(new Set(['refused']))
})
