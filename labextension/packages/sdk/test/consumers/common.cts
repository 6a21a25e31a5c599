// A user's CommonJS file, with the same names.
import svc = require("@svc-jupyter/sdk");

export async function email(key: string): Promise<string> {
  try {
    return (await (await svc.Svc.create(key)).getUser()).email;
  } catch (error) {
    if (error instanceof svc.RateLimitedError) return `again in ${error.retryAfter ?? 0} s`;
    throw error;
  }
}
